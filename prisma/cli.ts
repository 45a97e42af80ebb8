/** The Prisma CLI on the stand-in engine: `node prisma/cli.ts migrate status --config …`. */
import { spawn } from 'node:child_process'
import { prismaCli, prismaEnvironment } from './config.ts'

const args = [prismaCli, ...process.argv.slice(2)]

spawn(process.execPath, args, { stdio: 'inherit', env: prismaEnvironment() }).once('exit', (code) => {
  process.exitCode = code ?? 1
})
