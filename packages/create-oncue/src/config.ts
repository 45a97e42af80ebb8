/** The package manager that runs this: `npm create`, `pnpm create`, `yarn create` and `bun create` say so. */
export function readPackageManager(env: NodeJS.ProcessEnv = process.env): string {
  const [name = ''] = env.npm_config_user_agent?.split('/') ?? []
  return ['npm', 'pnpm', 'yarn', 'bun'].includes(name) ? name : 'npm'
}
