import { type Installation, install, requireFrom } from '../install.ts'

/** graphile-worker is in the lockfile: `bench worker` has it. */
export const PEERS = { 'pg-boss': '12.38.0', bullmq: '6.7.0', plainjob: '0.0.14' } as const

const INSTALLATION: Installation = {
  name: 'peers',
  packages: { ...PEERS, pg: '8.23.1' },
  // pg-boss asks for a later version, which npm does not have everywhere.
  overrides: { 'rrule-temporal': '2.2.7' },
  without: '--only oncue,graphile-worker,bare',
}

/** Loads it from the cache folder. Only in processes of the contender. */
export function requirePeer<Module>(name: keyof typeof PEERS): Module {
  return requireFrom<Module>(INSTALLATION, name)
}

export const installPeers = () => install(INSTALLATION)
