import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readConfig, silentLogger, startApi } from '@oncue/api'
import { startWorker, silentLogger as workerLogger } from '@oncue/worker'
import { readCatalog } from './catalog.ts'
import { HOME } from './home.ts'

const run = promisify(execFile)
const TOKEN = `oncue_${'consumer'.padEnd(43, '0')}`
/** What the types cost whoever compiles them, those of zod included. Raise it knowingly. */
const MAX_INSTANTIATIONS = 300_000
const EXPECTED = '3 completed true check_payment'

/** How people set up their compiler, and what their program is then. */
const PROJECTS = {
  'ESM, NodeNext': { type: 'module', module: 'NodeNext', moduleResolution: 'NodeNext' },
  'CommonJS, NodeNext': { type: 'commonjs', module: 'NodeNext', moduleResolution: 'NodeNext' },
  'ESM, Bundler': { type: 'module', module: 'ESNext', moduleResolution: 'Bundler' },
} as const
type Project = (typeof PROJECTS)[keyof typeof PROJECTS]

/** Installs the tarball in empty projects outside of the workspace; compiles them strictly, and runs them. */
export async function tryPackage(tarball: string, say: (line: string) => void): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'oncue-sdk-'))
  const api = await startApi(
    readConfig({ DATABASE_URL: ':memory:', ONCUE_PORT: '0', ONCUE_ADMIN_TOKEN: TOKEN }),
    silentLogger,
  )
  const worker = await startWorker({
    ...{ store: api.services.store, workers: { mail_digest: async () => ({ sent: 3 }) } },
    ...{ log: workerLogger, maintenance: false, lease: 'inline' },
  })
  try {
    await install(home, tarball)
    for (const [name, project] of Object.entries(PROJECTS)) {
      const folder = join(home, name.replace(/\W+/g, '-'))
      const instantiations = await compile(folder, project)
      const output = await start(folder, project.type, api.url)
      if (output !== EXPECTED) throw new Error(`${name}: expected "${EXPECTED}", got "${output}"`)
      say(`${name}: compiles strictly (${instantiations} type instantiations), runs`)
    }
  } finally {
    await worker.stop({ graceMs: 0 })
    await api.close()
    await rm(home, { recursive: true, force: true })
  }
}

/** Once, above them all. */
async function install(home: string, tarball: string): Promise<void> {
  const { zod, typescript } = await readCatalog()
  const dependencies = { '@oncue/sdk': `file:${tarball}`, zod, typescript }
  await writeFile(join(home, 'package.json'), JSON.stringify({ private: true, dependencies }))
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: home })
}

async function compile(folder: string, { type, ...resolution }: Project): Promise<number> {
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type }))
  await cp(join(HOME, 'scripts/consumer/consumer.ts'), join(folder, 'consumer.ts'))
  const compilerOptions = {
    ...{ target: 'ES2022', lib: ['ES2022', 'DOM', 'DOM.AsyncIterable'], types: [], ...resolution },
    ...{
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
  const compiler = join(folder, '../node_modules/typescript/lib/tsc.js')
  const args = [compiler, '-p', folder, '--pretty', 'false', '--extendedDiagnostics']
  const { stdout } = await run(process.execPath, args).catch((error: { stdout: string }) => {
    throw new Error(`${folder} does not compile:\n${error.stdout}`)
  })
  const instantiations = Number(/^Instantiations:\s*(\d+)$/m.exec(stdout)?.[1])
  if (!(instantiations <= MAX_INSTANTIATIONS))
    throw new Error(`The types take ${instantiations} instantiations, more than ${MAX_INSTANTIATIONS}`)
  return instantiations
}

async function start(folder: string, type: string, url: string): Promise<string> {
  const call = `main(${JSON.stringify(url)}, ${JSON.stringify(TOKEN)}).then((text) => process.stdout.write(text))`
  const program =
    type === 'commonjs'
      ? `const { main } = require('./consumer.js')\n${call}`
      : `import { main } from './consumer.js'\n${call}`
  await writeFile(join(folder, 'run.js'), program)
  const { stdout } = await run(process.execPath, ['run.js'], { cwd: folder, timeout: 60_000 })
  return stdout
}
