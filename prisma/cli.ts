/** The Prisma CLI on the stand-in engine: `node prisma/cli.ts migrate status --config …`. */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { prismaEnvironment } from './config.ts'

const prisma = createRequire(import.meta.url).resolve('prisma/build/index.js')
const args = [prisma, ...process.argv.slice(2)]

spawn(process.execPath, args, { stdio: 'inherit', env: prismaEnvironment() }).once('exit', (code) => {
  process.exitCode = code ?? 1
})
