import type { Store } from '@oncue/db'
import {
  type Call as CallOf,
  implement as implementIn,
  type Output,
  withStore as withStoreOf,
} from '@oncue/db/cli'
import { type Config, readConfig } from '@oncue/worker/command'
import type { Command } from 'commander'

/** The kit of @oncue/db/cli, with the settings that the commands here read: those of a worker. */

export type Call<Options = object> = CallOf<Options, Config>

export function implement<Options>(
  command: Command,
  examples: readonly string[],
  run: (call: Call<Options>) => Promise<Output | undefined>,
): Command {
  return implementIn<Options, Config>(command, { examples, readConfig, run })
}

export const withStore = <Options>(
  label: string,
  run: (store: Store, call: Call<Options>) => Promise<Output>,
) => withStoreOf<Options, Config>(label, run)
