"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  document.documentElement.classList.add("js");
  const at = {};
  data.columns.forEach((name, i) => { at[name] = i; });
  const levels = data.levels;
  const find = new Map();
  const key = data.key || ["measure", "source", "target"];
  if (key.every((name) => name in at)) {
    data.rows.forEach((row, i) => { find.set(key.map((name) => row[at[name]]).join(","), i); });
  }

  function field(row, name) {
    const raw = name in at ? row[at[name]] : null;
    return raw !== null && name in levels ? levels[name][raw] : raw;
  }

  function say(value, digits) {
    if (value === null || value === undefined) { return "–"; }
    const places = digits === undefined ? 3 : digits;
    const text = Math.abs(value) >= 1000 ? value.toPrecision(5) : value.toFixed(places);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
  }

  function sayP(p) {
    if (p === null || p === undefined) { return "–"; }
    return p >= 0.0005 ? p.toFixed(3) : p.toPrecision(1);
  }

  function short(value) {
    return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(4))).replace("-", "−") : value;
  }

  function lines(row) {
    if (!("measure" in at)) { return (data.told || data.columns).map((name) => [name, short(field(row, name))]); }
    const get = (name) => field(row, name);
    const kind = data.kinds[row[at.measure]];
    const out = [["source", get("source")], ["target", get("target")]];
    if (get("value") === null) {
      out.push(["value", "none"], ["why", get("reason") || "no reason was recorded"]);
    } else {
      out.push(["value", say(get("value")) + (kind === "similarity" ? " (higher is more alike)" : " (lower is more alike)")]);
      if (get("low") !== null) { out.push(["95 % interval", say(get("low")) + " to " + say(get("high"))]); }
    }
    if (get("null_mean") !== null) {
      out.push(["null", say(get("null_mean")) + (get("null_sd") === null ? "" : " ± " + say(get("null_sd"))) + (get("null_exact") ? " (exact, over all permutations)" : " (" + get("draws") + " shuffles)")]);
    }
    if (get("effect") !== null) { out.push(["effect", say(get("effect")) + " (0 by chance, 1 identical)"]); }
    if (get("value") !== null) {
      const how = get("draws") ? " (" + get("draws") + " shuffles)" : " (Pearson III tail, no shuffles)";
      out.push(["p", sayP(get("p")) + (get("p") === null ? (get("note") ? ": " + get("note") : "") : how)]);
      if (get("p_search") !== null) { out.push(["p (search)", sayP(get("p_search"))]); }
    }
    out.push(["n", String(get("n"))]);
    out.push(["widths", get("width_source") + " → " + get("width_target")]);
    out.push(["ranks", get("rank_source") + " → " + get("rank_target")]);
    if (get("reduced") !== null) { out.push(["reduced", get("reduced") + " leading components"]); }
    out.push(["scored", get("held_out") ? "on held-out rows" : "in-sample"]);
    return out;
  }

  function fill(title, pairs) {
    const head = document.createElement("strong");
    head.textContent = title;
    const list = document.createElement("dl");
    pairs.forEach(([name, words]) => {
      const dt = document.createElement("dt");
      const dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = words;
      list.append(dt, dd);
    });
    tip.replaceChildren(head, list);
  }

  function place(x, y) {
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const high = window.innerHeight;
    let left = x + 16;
    let top = y + 16;
    if (left + box.width > wide - 8) { left = x - box.width - 16; }
    if (top + box.height > high - 8) { top = y - box.height - 16; }
    tip.style.left = Math.max(8, Math.min(left, wide - box.width - 8)) + "px";
    tip.style.top = Math.max(8, top) + "px";
  }

  function hide() { tip.hidden = true; }

  function numbers(text) { return text.split(",").map(Number); }

  function layout(map) {
    if (!map.cells) {
      map.cells = {
        measure: Number(map.dataset.measure), rows: numbers(map.dataset.rows), columns: numbers(map.dataset.columns),
        x: numbers(map.dataset.x), y: numbers(map.dataset.y), size: Number(map.dataset.size), r: 0, c: 0,
      };
    }
    return map.cells;
  }

  function show(map, r, c, x, y) {
    const cells = layout(map);
    const source = cells.rows[r];
    const target = cells.columns[c];
    cells.r = r;
    cells.c = c;
    const cursor = map.querySelector(".cursor");
    cursor.setAttribute("x", cells.x[c]);
    cursor.setAttribute("y", cells.y[r]);
    const found = find.get(cells.measure + "," + source + "," + target);
    const title = data.titles[cells.measure];
    if (found !== undefined) {
      fill(title, lines(data.rows[found]));
    } else {
      const why = source === target ? "a space against itself" : "not run: this pair was not asked for";
      fill(title, [["source", levels.source[source]], ["target", levels.target[target]], ["value", why]]);
    }
    if (x === undefined) {
      const box = map.getBoundingClientRect();
      const unit = box.width / map.viewBox.baseVal.width;
      x = box.left + (cells.x[c] + cells.size) * unit;
      y = box.top + (cells.y[r] + cells.size) * unit;
    }
    place(x, y);
  }

  function clear(map) {
    const cursor = map.querySelector(".cursor");
    cursor.setAttribute("x", -99);
    cursor.setAttribute("y", -99);
    hide();
  }

  document.querySelectorAll("svg.map[data-measure]").forEach((map) => {
    const move = (event) => {
      const cells = layout(map);
      const box = map.getBoundingClientRect();
      const unit = map.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * unit;
      const y = (event.clientY - box.top) * unit;
      const inside = (starts, v) => starts.findIndex((s) => v >= s && v < s + cells.size);
      const r = inside(cells.y, y);
      const c = inside(cells.x, x);
      if (r < 0 || c < 0) { clear(map); } else { show(map, r, c, event.clientX, event.clientY); }
    };
    map.addEventListener("pointermove", move);
    map.addEventListener("pointerdown", move);
    map.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") { clear(map); } });
    map.addEventListener("blur", () => clear(map));
    map.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (event.key === "Escape") { clear(map); }
      if (!step) { return; }
      event.preventDefault();
      const cells = layout(map);
      const clamp = (v, n) => Math.max(0, Math.min(v, n - 1));
      show(map, clamp(cells.r + step[0], cells.y.length), clamp(cells.c + step[1], cells.x.length));
    });
  });

  document.querySelectorAll("[data-record]").forEach((mark) => {
    const row = data.rows[Number(mark.dataset.record)];
    const native = mark.querySelector("title");
    if (native) { native.remove(); }
    mark.addEventListener("pointerenter", (event) => {
      fill("measure" in at ? data.titles[row[at.measure]] : data.kind, lines(row));
      place(event.clientX, event.clientY);
    });
    mark.addEventListener("pointerleave", hide);
  });
  document.addEventListener("scroll", hide, { passive: true });

  function table(separator) {
    const quote = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\t\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    };
    const rows = data.rows.map((row) => data.columns.map((name) => quote(field(row, name))).join(separator));
    return [data.columns.join(separator), ...rows].join("\n") + "\n";
  }

  function records() {
    const all = data.rows.map((row) => Object.fromEntries(data.columns.map((name) => [name, field(row, name)])));
    return JSON.stringify({ kind: data.kind, schema: data.schema, records: all });
  }

  function save(text, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  document.querySelectorAll("[data-save]").forEach((button) => {
    button.addEventListener("click", () => {
      const said = document.getElementById("saved");
      if (button.dataset.save === "csv") { save(table(","), "text/csv", data.kind + ".csv"); }
      if (button.dataset.save === "json") { save(records(), "application/json", data.kind + ".json"); }
      if (button.dataset.save === "copy") {
        navigator.clipboard.writeText(table("\t")).then(
          () => { said.textContent = "Copied."; },
          () => { said.textContent = "The browser did not allow copying; download the CSV instead."; },
        );
      }
    });
  });

  function more(box) {
    box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 4);
  }

  const sized = new ResizeObserver((seen) => { seen.forEach((one) => more(one.target)); });
  document.querySelectorAll(".scroll").forEach((box) => {
    box.addEventListener("scroll", () => more(box), { passive: true });
    sized.observe(box);
  });

  function unfold() {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = named && named.querySelector(":scope > details");
    if (fold && !fold.open) {
      fold.open = true;
      named.scrollIntoView();
    }
  }

  window.addEventListener("hashchange", unfold);
  unfold();

  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
  });
})();
