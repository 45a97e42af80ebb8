import { readFile } from 'node:fs/promises'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import { adapterFor } from './adapters.ts'

/**
 * Prisma's own schema engine, as the WebAssembly module that Prisma publishes on npm, on top of its
 * driver adapters. The native one would have to be downloaded from elsewhere.
 */
export async function openEngine(
  url: string,
  datamodels?: [path: string, content: string][],
): Promise<{ engine: bindings.SchemaEngine; explain(error: unknown): string }> {
  await instantiate()
  const adapter = bindMigrationAwareSqlAdapterFactory(adapterFor(url))
  const engine = await bindings.SchemaEngine.new({ datamodels }, () => {}, adapter)
  // The engine knows an error of the driver by its number only.
  const driverError = (id: string) => String(adapter.errorRegistry.consumeError(Number(id))?.error)
  const explain = (error: unknown) =>
    String(error).replace(/External error id#(\d+)/, (_, id: string) => driverError(id))
  return { engine, explain }
}

/** Declarations that TypeScript's library for Node lacks, as far as they are used here. */
interface WasmApi {
  instantiate(
    bytes: Uint8Array,
    imports: Record<string, unknown>,
  ): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>
}

/** Loaded explicitly, because Node's own import of WebAssembly prints a warning. */
async function instantiate(): Promise<void> {
  const glue = import.meta.resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const bytes = await readFile(new URL('./schema_engine_bg.wasm', glue))
  const { WebAssembly } = globalThis as unknown as { WebAssembly: WasmApi }
  // Where the engine stores the reason before it panics.
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: { set_message: reportPanic } })
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': bindings })
  bindings.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
}

function reportPanic(message: string): void {
  process.stderr.write(`${message}\n`)
}
