/** JavaScript that an old Node can read as well, so that it can be told what it lacks. */
const NEEDED = [22, 18]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) {
  const { start } = await import('./start/start.ts')
  // Whatever is still open (a pool, a handler that was given up) must not keep the process.
  process.exit(await start(process.argv.slice(2)))
} else {
  process.stderr.write(
    `Oncue needs Node ${NEEDED.join('.')} or newer; this is ${process.version}.\n` +
      'On Linux, `npx -y pnpm@12.18.0 start` uses the Node that the repository installs. Elsewhere, upgrade Node.\n',
  )
  process.exitCode = 1
}
