// Runs inside a page: its address, its title, the text and the links of one element without what frames them.
var selector = arguments[0], most = arguments[1], links = arguments[2], ids = arguments[3], frame = arguments[4];
function whole(text) {
  text = String(text === undefined || text === null ? '' : text).slice(0, most);
  return text.toWellFormed ? text.toWellFormed() : text;
}
var out = { href: String(location.href), title: whole(document.title), text: '', links: [], ids: [] };
var root = document.body || document.documentElement;
if (!root) return out;
if (selector) {
  try { root = document.querySelector(selector); } catch (e) { out.bad = true; return out; }
  if (!root) {
    out.missing = true;
    document.querySelectorAll('[id]').forEach(function (e) {
      if (out.ids.length < ids && e.id && typeof e.id === 'string') out.ids.push(whole(e.id));
    });
    return out;
  }
}
// The head of an article belongs to it.
var parts = [].slice.call(root.querySelectorAll(frame.join(','))).filter(function (e) {
  return e.style && !(e.localName === 'header' && e.closest('article, main'));
});
function seen() { return whole(root.innerText === undefined ? root.textContent : root.innerText); }
var was = parts.map(function (e) { return e.getAttribute('style'); });
parts.forEach(function (e) { e.style.setProperty('display', 'none', 'important'); });
out.text = seen();
var left = function (e) { return parts.some(function (part) { return part.contains(e); }); };
var all = [].slice.call(root.querySelectorAll('a[href]'));
var kept = all.filter(function (e) { return !left(e); });
if (!out.text.trim() && !kept.length) {
  parts.forEach(function (e, n) { if (was[n] === null) e.removeAttribute('style'); else e.setAttribute('style', was[n]); });
  out.text = seen();
  kept = all;
}
kept.forEach(function (e) {
  var href = typeof e.href === 'string' ? e.href : String(e.getAttribute('href'));
  if (out.links.length > links || /^\s*#/.test(e.getAttribute('href')) || /^javascript:/i.test(href)) return;
  var image = e.querySelector('img[alt]');
  out.links.push([whole(e.innerText || e.textContent || e.title || (image && image.alt)), whole(href)]);
});
return out;
