import { delimiter } from 'node:path'

/** How this machine reaches the npm registry: that is no matter of a fresh one. */
const OF_THE_NETWORK =
  /^(npm_config_(registry|userconfig|globalconfig|cafile|strict_ssl|(https_)?proxy|noproxy)|(https?|no|all)_proxy|node_extra_ca_certs|ssl_cert_(file|dir)|lang|tmpdir)$/i

export function readMachine(env = process.env): { env: NodeJS.ProcessEnv; path: string[] } {
  const kept = Object.entries(env).filter(([name]) => OF_THE_NETWORK.test(name))
  // What a package manager put in front, such as the Node that this repository brings, is not the machine's.
  const path = (env.PATH ?? '').split(delimiter).filter((folder) => !/node_modules/.test(folder))
  return { env: Object.fromEntries(kept), path }
}
