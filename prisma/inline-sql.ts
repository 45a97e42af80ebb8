/**
 * Part of the build of packages/db: puts the texts of the migrations and functions into the published package, as a module
 * with the exports of migrate/sources.ts. So they are part of every bundle.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { ownFunctions, ownMigrations, RELEASE } from '../packages/db/src/migrate/sources.ts'

const file = new URL('../packages/db/dist/migrate/sources.js', import.meta.url)
// The compiler has written it from the source.
await readFile(file)

const [postgres, sqlite, functions] = await Promise.all([
  ownMigrations('postgres'),
  ownMigrations('sqlite'),
  ownFunctions(),
])
const text = (value: unknown) => JSON.stringify(value, null, 2)
await writeFile(
  file,
  `export const RELEASE = ${text(RELEASE)};
const MIGRATIONS = ${text({ postgres, sqlite })};
const FUNCTIONS = ${text(functions)};
export async function ownMigrations(dialect) {
    return MIGRATIONS[dialect];
}
export async function ownFunctions() {
    return FUNCTIONS;
}
`,
)
await writeFile(
  new URL('sources.d.ts', file),
  `import type { DialectName } from '../url.ts';
import type { MigrationFiles } from './files.ts';
export declare const RELEASE: string;
export declare function ownMigrations(dialect: DialectName): Promise<MigrationFiles[]>;
export declare function ownFunctions(): Promise<string>;
`,
)
