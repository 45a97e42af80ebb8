#!/usr/bin/env node
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { readPackageManager } from './config.ts'
import { problemOfNode } from './node-version.ts'
import { contentsOf, isTemplate, TEMPLATES, type Template, writeProject } from './templates.ts'

const HELP = `Usage: npm create oncue@latest [folder] [-- options]

Starts a project with Oncue, installs it, and runs a first job.

Options:
  --template <name>  ${Object.entries(TEMPLATES)
    .map(([name, what]) => `${name}: ${what}`)
    .join('\n                     ')}
  --yes              ask nothing: the folder my-jobs, the template worker, unless they are given
  --no-install       write the files, and install nothing
  --version, --help

Exit codes: 0 done, 1 failed or the folder is not empty, 2 wrong usage
`

const say = (text: string) => void process.stdout.write(`${text}\n`)

class Problem extends Error {
  readonly code: number

  constructor(message: string, code = 1) {
    super(message)
    this.code = code
  }
}

function readOptions() {
  try {
    const options = {
      template: { type: 'string' },
      yes: { type: 'boolean', short: 'y', default: false },
      install: { type: 'boolean', default: true },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    } as const
    const { values, positionals } = parseArgs({ options, allowPositionals: true, allowNegative: true })
    if (positionals.length > 1)
      throw new Error(`one folder, not ${positionals.length}: ${positionals.join(' ')}`)
    return { ...values, folder: positionals[0] }
  } catch (error) {
    throw new Problem(`${(error as Error).message}\nSee --help.`, 2)
  }
}

async function main(): Promise<void> {
  const options = readOptions()
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  if (options.help) return say(HELP)
  if (options.version) return say(version)
  const problem = problemOfNode(process.versions.node)
  if (problem !== null) throw new Problem(problem)
  if (options.template !== undefined) assertTemplate(options.template)
  const asks = !options.yes && process.stdin.isTTY && process.stdout.isTTY
  const folder = resolve(options.folder ?? (asks ? await askFolder() : 'my-jobs'))
  // Before more questions.
  assertEmpty(folder)
  const template = options.template ?? (asks ? await askTemplate() : 'worker')
  assertTemplate(template)

  writeProject(folder, template, version)
  const shown = relative('', folder)
  say(`wrote the template ${template} to ${shown || 'this folder'}`)
  const manager = readPackageManager()
  if (options.install) {
    run(manager, ['install'], folder, 'The project is written, and can be installed again')
    if (template === 'worker')
      run(manager, ['run', 'first-job'], folder, 'The project is installed; its first job did not run')
  }
  say(`\nNext:\n\n${nextSteps(template, shown, manager, options.install)}`)
}

function nextSteps(template: Template, shown: string, manager: string, isInstalled: boolean): string {
  const steps = [
    ...(shown === '' ? [] : [`cd ${shown}`]),
    ...(isInstalled ? [] : [`${manager} install`]),
    ...FIRST_STEPS[template].map((step) => step.replace('npm', manager)),
  ]
  return steps.map((step) => `  ${step}`).join('\n')
}

const FIRST_STEPS: Readonly<Record<Template, readonly string[]>> = {
  worker: ['npm run dev     # API, app and worker; prints a link that signs in', 'npm test'],
  'hono-drizzle': [
    'docker compose up -d    # or set DATABASE_URL in .env',
    'npm run migrate',
    'npm run jobs    # API, app and worker; prints a link that signs in',
    'npm run dev     # the server, on port 3000',
  ],
  next: [
    'npm run dev     # Next.js and a worker; the jobs are at http://localhost:3000/admin/jobs',
    'npm test',
  ],
  nest: ['npm run dev     # server and worker; the jobs are at http://localhost:3000/admin/jobs', 'npm test'],
}

function assertTemplate(name: string): asserts name is Template {
  if (!isTemplate(name))
    throw new Problem(`there is no template ${name}; there are ${Object.keys(TEMPLATES).join(', ')}`, 2)
}

function assertEmpty(folder: string): void {
  const contents = contentsOf(folder)
  if (contents.length === 0) return
  const some = contents.slice(0, 3).join(', ')
  throw new Problem(
    `${folder} is not empty: it has ${some}${contents.length > 3 ? ', …' : ''}\nGive another folder. To add Oncue to a project: npx oncue init`,
  )
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return (await terminal.question(question)).trim()
  } finally {
    terminal.close()
  }
}

const askFolder = async () => (await ask('Folder (my-jobs): ')) || 'my-jobs'

async function askTemplate(): Promise<string> {
  for (const [name, what] of Object.entries(TEMPLATES)) say(`  ${name.padEnd(14)}${what}`)
  return (await ask('Template (worker): ')) || 'worker'
}

/** Its output is shown. On Windows, package managers are scripts, which need a shell. */
function run(command: string, args: string[], folder: string, otherwise: string): void {
  say(`\n> ${[command, ...args].join(' ')}`)
  const shell = process.platform === 'win32'
  const { status, error } = spawnSync(command, args, { cwd: folder, stdio: 'inherit', shell })
  if (status !== 0)
    throw new Problem(
      `${[command, ...args].join(' ')} failed${error ? `: ${error.message}` : ''}. ${otherwise}.`,
    )
}

try {
  await main()
} catch (error) {
  if (!(error instanceof Problem)) throw error
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = error.code
}
