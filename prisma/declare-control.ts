/**
 * Part of the build of packages/db: the declarations of Control must compile in projects that have no Prisma. They
 * only need a declaration of the generated client.
 */
import { readFile, writeFile } from 'node:fs/promises'

const file = new URL('../packages/db/dist/control/client.d.ts', import.meta.url)
const written = await readFile(file, 'utf8')
const [context] = /^export type Context = \{[\s\S]*?^\};$/m.exec(written) ?? []
if (context === undefined) throw new Error('control/client.ts declares no Context')
const [connection] = /^import .*\bConnection\b.* from '[^']*';$/m.exec(written) ?? []
if (connection === undefined) throw new Error('control/client.ts imports no Connection')
await writeFile(file, `${connection}\nexport type Client = object;\n${context}\n`)
