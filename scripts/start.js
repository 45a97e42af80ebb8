/** JavaScript that an old Node can parse, so that it can print what is missing. */
const NEEDED = [22, 18]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) {
  const { start } = await import('./start/start.ts')
  // Anything that is still open (a pool, an abandoned handler) must not keep the process alive.
  process.exit(await start(process.argv.slice(2)))
} else {
  process.stderr.write(
    `Oncue needs Node ${NEEDED.join('.')} or newer; this is ${process.version}.\n` +
      'On Linux, `npx -y pnpm@12.18.0 start` uses the Node that the repository installs. Elsewhere, upgrade Node.\n',
  )
  process.exitCode = 1
}
