import { readFileSync } from 'node:fs'
import { access, constants, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OncueError } from '@oncue/core'
import { EXIT, type Output, type RemoteCall } from '@oncue/db/cli'
import type { Config } from '@oncue/worker/command'
import { ask, canAsk } from './command.ts'
import { styled } from './format.ts'
import type { InitOptions } from './init.ts'
import { type Change, type Plan, planInit } from './init-changes.ts'
import { diffLines } from './line-diff.ts'
import { type Project, readProject } from './project.ts'
import { VERSION } from './version.ts'

export async function runInit({ options, config, note }: RemoteCall<InitOptions, Config>): Promise<Output> {
  const project = readProject(config.callerFolder)
  const plan = planInit(project, { oncue: `^${VERSION}`, zod: zodRange() })
  const { changes } = plan
  if (!options.json) {
    note(describe(project))
    for (const change of changes) note(show(change))
    for (const text of plan.notes) note(`\nnote: ${text}`)
  }
  if (changes.length === 0) return outputOf(project, plan, true, 'nothing to do: Oncue is in this project')
  if (options.dryRun) return outputOf(project, plan, false, '\nnothing was written')
  if (!options.yes) {
    if (options.json || !canAsk())
      return {
        ...outputOf(project, plan, false, '\nnothing was written; add --yes to do it'),
        exit: EXIT.usage,
      }
    if (!(await ask('\nWrite this?'))) return outputOf(project, plan, false, 'nothing was written')
  }
  // The modules last: where they are, another run leaves tsconfig.json as it is.
  const isCreated = ({ before }: Change) => before === null
  for (const change of changes.filter((each) => !isCreated(each))) await write(project.folder, change)
  for (const change of changes.filter(isCreated)) await write(project.folder, change)
  return outputOf(project, plan, true, `\n${nextSteps(project, plan)}`)
}

/** The versions of zod that this version of Oncue works with. */
function zodRange(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { peerDependencies: { zod: string } }).peerDependencies.zod
}

function describe({ tsconfig, type, packageManager, database, framework }: Project): string {
  const language = tsconfig === null ? 'JavaScript' : 'TypeScript'
  const found = [language, `type: ${type ?? 'not set'}`, packageManager, framework, database]
  return `found: ${found.filter((each) => each !== null).join(', ')}`
}

function show({ path, before, after }: Change): string {
  const title = before === null ? `create ${path}` : `change ${path}`
  const lines = diffLines(before ?? '', after).map((line) => {
    if (line.startsWith('+')) return styled('green', line)
    return line.startsWith('-') ? styled('red', line) : line
  })
  return `\n${styled('bold', title)}\n${lines.join('\n')}`
}

/** Only if the file is as it was shown. */
async function write(folder: string, { path, before, after }: Change): Promise<void> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  const isAsShown = before === null || (await readFile(file, 'utf8').catch(() => null)) === before
  const isWritten =
    isAsShown &&
    (await (before === null ? writeFile(file, after, { flag: 'wx' }) : replace(file, after)).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return false
        throw error
      },
    ))
  if (!isWritten)
    throw new OncueError('INVALID_STATE', `${path} changed meanwhile, and was not written`, {
      hint: 'Run `oncue init` again: it does what is still missing.',
    })
}

/** At once: a full disk must not leave an empty package.json behind. */
async function replace(file: string, text: string): Promise<void> {
  const target = await realpath(file)
  await access(target, constants.W_OK)
  const beside = `${target}.oncue-init`
  try {
    await writeFile(beside, text, { flag: 'wx', mode: (await stat(target)).mode })
    await rename(beside, target)
  } finally {
    await rm(beside, { force: true })
  }
}

function outputOf(
  project: Project,
  { changes, module, notes }: Plan,
  isWritten: boolean,
  text: string,
): Output {
  const { packageManager, type, database, framework, tsconfig } = project
  const files = changes.map((change) => ({
    path: change.path,
    action: change.before === null ? 'create' : 'change',
    diff: diffLines(change.before ?? '', change.after),
  }))
  const found = { typescript: tsconfig !== null, type, packageManager, database, framework }
  return {
    text,
    json: { project: found, module, changes: files, written: isWritten && files.length > 0, notes },
  }
}

/** How to enqueue in a transaction of what the project has. */
const IN_TRANSACTION: Readonly<Record<NonNullable<Project['database']>, string>> = {
  '@prisma/client':
    "const queue = createQueue({ prisma, jobs })\n  await prisma.$transaction((tx) => queue.enqueue('greet', { name: 'Ada' }, { tx }))",
  'drizzle-orm':
    "const queue = createQueue({ pool, jobs })\n  await db.transaction((tx) => queue.enqueue('greet', { name: 'Ada' }, { tx: fromDrizzle(tx, sql) }))",
  kysely:
    "const queue = createQueue({ pool, jobs })\n  await db.transaction().execute((trx) => queue.enqueue('greet', { name: 'Ada' }, { tx: fromKysely(trx, CompiledQuery) }))",
  pg: "const queue = createQueue({ pool, jobs })\n  await queue.enqueue('greet', { name: 'Ada' }, { tx: client })",
  'better-sqlite3':
    "const queue = createQueue({ database, jobs })\n  await queue.enqueue('greet', { name: 'Ada' })",
}

function nextSteps({ packageManager, database, framework }: Project, { module }: Plan): string {
  const enqueue =
    database === null
      ? `const queue = createQueue({ store: await openStore(url), jobs })\n  await queue.enqueue('greet', { name: 'Ada' })`
      : IN_TRANSACTION[database]
  const names = ['createQueue', 'fromDrizzle', 'fromKysely', 'openStore'].filter((name) =>
    enqueue.includes(name),
  )
  return [
    'Next:',
    '',
    `  ${packageManager} install`,
    `  ${packageManager} run jobs:dev    # API, app and worker on this machine; ${module} restarts when you change it`,
    '',
    `Enqueue${framework === null ? '' : ` in ${framework}`}${database === null ? '' : `, with ${database}`}:`,
    '',
    `  import { ${names.join(', ')} } from 'oncue'`,
    '',
    `  ${enqueue}`,
  ].join('\n')
}
