// The data, and numbers as texts.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const TYPES = { bool: Uint8Array, f32: Float32Array, f64: Float64Array, i32: Int32Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array };
const READ = 0;

// Texts only ever become text nodes, so that no name is read as markup.
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
const block = await unpacked(data.block);
const numbers = (type, start, count) => new TYPES[type](block, start, count);

function float32Text(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  if (Object.is(value, -0)) return "-0";
  for (let digits = 1; digits < 9; ++digits) {
    const text = Number(value.toPrecision(digits));
    if (Math.fround(text) === value) return String(text);
  }
  return String(Number(value.toPrecision(9)));
}
const text = (type, value) => type === "bool" ? (value ? "true" : "false") : type === "f32" ? float32Text(value) : String(value);
/** A number as it fits into a lane's cell. */
const brief = (type, value) => type.startsWith("f") && Number.isFinite(value) ? String(Number(value.toPrecision(4))) : text(type, value);
