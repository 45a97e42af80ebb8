/** Vite imports any file as text. So the tests need no `node:fs`, and `types: []` keeps Node out of the sources. */
declare module '*?raw' {
  const text: string
  export default text
}
