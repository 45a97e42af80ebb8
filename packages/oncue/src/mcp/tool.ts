import type { AccessClass } from '@oncue/core/wire'
import type { Client } from '@oncue/sdk'
import type { z } from 'zod'

interface Declaration<Input extends z.ZodType> {
  readonly name: string
  readonly title: string
  readonly description: string
  /** What the role of the token must permit, for the tool to be listed. The API checks it again. */
  readonly access: AccessClass
  /** `ends`: something is lost that cannot be had back. */
  readonly effect: 'none' | 'changes' | 'ends'
  readonly input: Input
  readonly run: (client: Client, input: z.output<Input>) => Promise<unknown>
}

/** What an assistant can call. It returns what is shown, as JSON. */
export type Tool = Declaration<z.ZodType>

/** Keeps the type of the input where a tool is declared, and not beyond. */
export function tool<Input extends z.ZodType>(declaration: Declaration<Input>): Tool {
  return declaration as unknown as Tool
}
