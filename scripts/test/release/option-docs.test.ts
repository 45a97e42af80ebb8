import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from '../../start/root.ts'

/** The published declarations, as an editor reads them where the packages are installed. */
const CORE = { '@oncue/core': 'index', '@oncue/core/wire': 'wire/index', '@oncue/core/internal': 'internal' }
const ENTRIES = [
  'packages/core/dist/index.d.ts',
  'packages/db/dist/index.d.ts',
  'apps/worker/dist/index.d.ts',
  'apps/worker/dist/testing.d.ts',
  'apps/api/dist/index.d.ts',
  'packages/sdk/dist/types/sdk/index.d.ts',
  'packages/sdk/dist/types/sdk/testing.d.ts',
]

/** Types that users write as an object. `Config` is read from the environment, which guides describe. */
const OPTIONS = /(Options|JobConfig|Isolation|Filter|Request|Rule|Settings|Limit|Schedule|Hooks)$/
const TIMES = /Ms$|Delay$|^delay$|^within$/

const program = ts.createProgram(
  ENTRIES.map((entry) => join(ROOT, entry)),
  {
    ...{ target: ts.ScriptTarget.ES2023, strict: true, skipLibCheck: true, noEmit: true },
    ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    paths: Object.fromEntries(
      Object.entries(CORE).map(([name, file]) => [name, [join(ROOT, `packages/core/dist/${file}.d.ts`)]]),
    ),
  },
)
const checker = program.getTypeChecker()

/** The options of a type, and those of plain objects within, as `name.option`. */
function optionsOf(type: ts.Type, name: string, seen = new Set<ts.Type>()): [string, ts.Symbol][] {
  if (seen.has(type)) return []
  seen.add(type)
  const found = (type.isUnion() ? type.types : [type]).flatMap((one) => checker.getPropertiesOfType(one))
  // An option that excludes another has only undefined as its type.
  const written = found.filter(
    (option) => (checker.getTypeOfSymbol(option).flags & ts.TypeFlags.Undefined) === 0,
  )
  return written.flatMap((option) => {
    const path = `${name}.${option.name}`
    const value = checker.getNonNullableType(checker.getTypeOfSymbol(option))
    const within = (value.isUnion() ? value.types : [value]).filter(isPlain)
    return [[path, option] as [string, ts.Symbol], ...within.flatMap((one) => optionsOf(one, path, seen))]
  })
}

/** An object without a name of its own, such as the type of a zod schema. */
function isPlain(type: ts.Type): boolean {
  const [named] = type.aliasSymbol?.declarations ?? []
  return (
    (!named || named.getSourceFile().fileName.includes('/zod/')) &&
    (type.flags & ts.TypeFlags.Object) !== 0 &&
    ['__type', '__object'].includes(type.symbol?.name ?? '') &&
    type.getCallSignatures().length === 0
  )
}

/** Found by the name of the type, or of the function that takes them. */
function optionsIn(entry: string): [string, ts.Symbol][] {
  const file = program.getSourceFile(join(ROOT, entry))
  const module = file && checker.getSymbolAtLocation(file)
  if (!module) throw new Error(`${entry} is not built`)
  return checker.getExportsOfModule(module).flatMap((exported) => {
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0
    const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
    if (symbol.flags & ts.SymbolFlags.Function) {
      const parameters = checker
        .getTypeOfSymbol(symbol)
        .getCallSignatures()
        .flatMap((call) => call.parameters)
      return parameters
        .filter(({ name }) => name === 'options')
        .flatMap((options) =>
          optionsOf(checker.getNonNullableType(checker.getTypeOfSymbol(options)), symbol.name),
        )
    }
    return OPTIONS.test(symbol.name) ? optionsOf(checker.getDeclaredTypeOfSymbol(symbol), symbol.name) : []
  })
}

test.each(ENTRIES)('%s explains every option, and a time with its unit', (entry) => {
  const options = optionsIn(entry)
  expect(options.length).toBeGreaterThan(0)
  const commentOf = (option: ts.Symbol) => ts.displayPartsToString(option.getDocumentationComment(checker))
  const unexplained = options.filter(([, option]) => commentOf(option) === '')
  const unitless = options.filter(
    ([, option]) => TIMES.test(option.name) && !/milliseconds/i.test(commentOf(option)),
  )
  expect({
    unexplained: unexplained.map(([path]) => path),
    unitless: unitless.map(([path]) => path),
  }).toEqual({
    unexplained: [],
    unitless: [],
  })
})

test('the options of an enqueue are among them', () => {
  const paths = optionsIn('packages/sdk/dist/types/sdk/index.d.ts').map(([path]) => path)
  expect(paths).toEqual(
    expect.arrayContaining([
      'EnqueueOptions.delay',
      'EnqueueOptions.unique.within',
      'EnqueueOptions.retry.baseDelay',
      'JobConfig.timeoutMs',
      'ClientOptions.timeoutMs',
    ]),
  )
})
