import type { z } from 'zod'

/**
 * A schema of any library that implements Standard Schema 1, such as Valibot or ArkType. Libraries that mark their
 * asynchronous schemas with `async: true` do not compile: a payload is checked where nothing can be awaited.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>
    /** Standard JSON Schema 1, where the library has it. */
    readonly jsonSchema?: Partial<Record<'input' | 'output', ToJsonSchema>> | undefined
  }
  readonly async?: false
}

type ToJsonSchema = (options: { readonly target: string }) => Record<string, unknown>

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** What is wrong with a value, and where. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What describes an input, an output, progress or a signal: zod 4, or any other Standard Schema. */
export type Schema = z.core.$ZodType | StandardSchema

/** What may be sent. Of zod by its own type, which editors show best. */
export type InputOfSchema<S extends Schema> = S extends z.core.$ZodType ? z.input<S> : TypesOf<S>['input']
/** What comes out of it. */
export type OutputOfSchema<S extends Schema> = S extends z.core.$ZodType ? z.output<S> : TypesOf<S>['output']

type TypesOf<S> = S extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> & { readonly input: unknown; readonly output: unknown }
  : never

/** By shape and not by instanceof: the user's zod may be another copy. */
export function isZod(schema: Schema): schema is z.core.$ZodType {
  return '_zod' in schema
}

/** Schemas of ArkType are functions. */
export function isSchema(value: unknown): value is Schema {
  const isObject = typeof value === 'object' || typeof value === 'function'
  if (!isObject || value === null) return false
  if ('_zod' in value) return true
  const standard: unknown = '~standard' in value ? value['~standard'] : undefined
  return typeof (standard as { validate?: unknown } | undefined)?.validate === 'function'
}

/** Accepts any value, by its definition: there is nothing to check. */
export function acceptsAnything(schema: Schema): boolean {
  return isZod(schema) && schema._zod.def.type === 'unknown'
}
