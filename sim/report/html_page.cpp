#include "sim/report/html_page.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ddpsim::html {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light; }
body { font: 15px/1.5 "DejaVu Sans", Verdana, sans-serif; color: #222; background: #fff; max-width: 72rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd; }
pre, code { font: 13px/1.45 "DejaVu Sans Mono", monospace; }
pre { background: #f6f6f6; padding: 0.8rem 1rem; overflow-x: auto; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: 0.9em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 0.2rem 0.7rem; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap; }
th { border-bottom: 1px solid #999; vertical-align: bottom; }
th button { font: inherit; font-weight: bold; border: 0; background: none; padding: 0; cursor: pointer; color: inherit; }
th[aria-sort=ascending] button::after { content: " \25B2"; }
th[aria-sort=descending] button::after { content: " \25BC"; }
tr.marked { background: #e3f0f9; font-weight: bold; }
)";

// Cells with a key by it, then the others by their text; rows that are equal stay in their order.
constexpr std::string_view kScript = R"(
document.querySelectorAll("table.sortable").forEach(function (table) {
  table.querySelectorAll("th").forEach(function (head, column) {
    head.querySelector("button").addEventListener("click", function () {
      var sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      table.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
      var rows = Array.from(table.tBodies[0].rows);
      rows.sort(function (a, b) {
        var x = a.cells[column], y = b.cells[column];
        if ("key" in x.dataset !== "key" in y.dataset) return "key" in x.dataset ? -1 : 1;
        return sign * ("key" in x.dataset ? x.dataset.key - y.dataset.key : x.textContent.localeCompare(y.textContent));
      });
      rows.forEach(function (row) { table.tBodies[0].append(row); });
    });
  });
});
)";

bool stays_in_url(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_.!~*();:@=+$,/").find(c) != std::string_view::npos;
}

}  // namespace

std::string escaped(std::string_view text) {
  using nlohmann::json;
  // The library finds what is not UTF-8.
  auto valid = json::parse(json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace))
                   .get<std::string>();
  std::string out;
  for (char c : valid) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += c;
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  return out;
}

std::string table(const Table& table) {
  auto out = fmt::format("<div class=\"wide\"><table{}>\n<thead><tr>",
                         table.is_sortable ? " class=\"sortable\"" : "");
  for (const auto& title : table.titles)
    out += table.is_sortable
               ? fmt::format("<th scope=\"col\"><button type=\"button\">{}</button></th>", escaped(title))
               : fmt::format("<th scope=\"col\">{}</th>", escaped(title));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += row.is_marked ? "<tr class=\"marked\">" : "<tr>";
    for (const auto& cell : row.cells)
      out += cell.key ? fmt::format("<td data-key=\"{}\">{}</td>", *cell.key, escaped(cell.text))
                      : fmt::format("<td>{}</td>", escaped(cell.text));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

std::string heading(std::string_view text) {
  return fmt::format("<h2>{}</h2>\n", escaped(text));
}

std::string paragraph(std::string_view text) {
  return fmt::format("<p>{}</p>\n", escaped(text));
}

std::string list(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string out = "<ul>\n";
  for (const auto& line : lines) out += fmt::format("<li>{}</li>\n", escaped(line));
  return out + "</ul>\n";
}

std::string as_typed(std::string_view text) {
  return fmt::format("<pre>{}</pre>\n", escaped(text));
}

std::string picture(std::string_view svg, std::string_view words) {
  std::string url = "data:image/svg+xml,";
  for (char c : svg)
    url += stays_in_url(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return fmt::format("<figure><img src=\"{}\" alt=\"{}\"><figcaption>{}</figcaption></figure>\n", url,
                     escaped(words), escaped(words));
}

std::string page(std::string_view title, const std::string& body) {
  // The policy holds the browser to what the page promises: nothing comes from elsewhere.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n<style>{1}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n{2}<script>{3}</script>\n</body>\n</html>\n",
      escaped(title), kStyle, body, kScript);
}

}  // namespace ddpsim::html
