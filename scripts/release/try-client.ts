import { execFile } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'
import type { Packed } from './packages.ts'
import { compile, install, type Resolution, versionsOf } from './project.ts'

const run = promisify(execFile)
/** Limit of the types that a compiler makes, those of zod included. Raise it only on purpose. */
export const MAX_INSTANTIATIONS = 300_000
const EXPECTED = '3 completed true check_payment'

/** The kinds of programs that users write. */
export const PROJECTS: readonly { type: 'module' | 'commonjs'; resolution: Resolution }[] = [
  { type: 'module', resolution: 'NodeNext' },
  { type: 'commonjs', resolution: 'NodeNext' },
  { type: 'module', resolution: 'Bundler' },
]
export type Project = (typeof PROJECTS)[number]

export interface Server {
  readonly url: string
  readonly token: string
}

/** Installs the SDK alone, compiles programs of all kinds with it, and lets each of them talk to a server. */
export async function tryClient(
  sdk: Packed,
  folder: string,
  server: Server,
  say: (line: string) => void,
): Promise<void> {
  await install(folder, { '@oncue/sdk': `file:${sdk.tarball}`, ...(await versionsOf(['zod'])) })
  for (const project of PROJECTS) {
    const name = `${project.type}, ${project.resolution}`
    const home = join(folder, name.replace(/\W+/g, '-'))
    const instantiations = await compileConsumer(home, project)
    const output = await start(home, project.type, server)
    if (output !== EXPECTED) throw new Error(`${name}: expected "${EXPECTED}", got "${output}"`)
    say(`SDK, ${name}: compiles strictly (${instantiations} type instantiations), runs`)
  }
}

/** Below a folder in which the SDK is installed. */
export async function compileConsumer(home: string, { type, resolution }: Project): Promise<number> {
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'package.json'), JSON.stringify({ private: true, type }))
  await cp(join(ROOT, 'scripts/release/consumer/consumer.ts'), join(home, 'consumer.ts'))
  const instantiations = await compile(home, { resolution, files: ['consumer.ts'] })
  if (!(instantiations <= MAX_INSTANTIATIONS))
    throw new Error(`The types take ${instantiations} instantiations, more than ${MAX_INSTANTIATIONS}`)
  return instantiations
}

async function start(home: string, type: Project['type'], { url, token }: Server): Promise<string> {
  const call = `main(${JSON.stringify(url)}, ${JSON.stringify(token)}).then((text) => process.stdout.write(text))`
  const load =
    type === 'commonjs' ? `const { main } = require('./consumer.js')` : `import { main } from './consumer.js'`
  await writeFile(join(home, 'run.js'), `${load}\n${call}`)
  const { stdout } = await run(process.execPath, ['run.js'], { cwd: home, timeout: 60_000 })
  return stdout
}
