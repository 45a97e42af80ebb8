import { delimiter } from 'node:path'

/** The settings by which this machine reaches the npm registry, which the new one needs as well. */
const OF_THE_NETWORK =
  /^(npm_config_(registry|userconfig|globalconfig|cafile|strict_ssl|(https_)?proxy|noproxy)|(https?|no|all)_proxy|node_extra_ca_certs|ssl_cert_(file|dir)|lang|tmpdir)$/i

export function readMachine(env = process.env): { env: NodeJS.ProcessEnv; path: string[] } {
  const kept = Object.entries(env).filter(([name]) => OF_THE_NETWORK.test(name))
  // Folders that a package manager put in front, such as the Node of this repository, are not part of the machine.
  const path = (env.PATH ?? '').split(delimiter).filter((folder) => !/node_modules/.test(folder))
  return { env: Object.fromEntries(kept), path }
}
