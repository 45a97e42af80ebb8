import type { NextConfig } from 'next'

const config: NextConfig = {
  // Its API and its app load files of their own, so they stay in node_modules.
  serverExternalPackages: ['oncue'],
}

export default config
