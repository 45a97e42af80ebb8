// Next.js and the worker, until Ctrl-C. Both take over changes.
import { spawn } from 'node:child_process'
import { migrate } from 'oncue'
import { url } from './src/database.ts'

await migrate(url)
const port = process.env.PORT ?? '3000'
const next = ['node_modules/next/dist/bin/next', 'dev', '--hostname', 'localhost', '--port', port]
const worker = ['node_modules/oncue/dist/main.js', 'worker', '--import', './src/workers.ts', '--url', url]
const children = [next, ['--watch', '--watch-preserve-output', ...worker]].map((args) =>
  spawn(process.execPath, args, { stdio: 'inherit' }),
)

let isStopping = false
function stop(): void {
  if (isStopping) return
  isStopping = true
  for (const child of children) child.kill('SIGTERM')
}
process.on('SIGTERM', stop)
// A terminal sends it to all three.
process.on('SIGINT', () => {
  isStopping = true
})
for (const child of children)
  child.on('exit', (code) => {
    process.exitCode ||= code ?? 0
    stop()
  })

console.log(
  `\n  the site      http://localhost:${port}\n  its jobs      http://localhost:${port}/admin/jobs\n`,
)
