const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { getDefaultConfig } = require('expo/metro-config')

const SOURCE = join(__dirname, 'src/')
/** Made by scripts/bundle-sdk.mts. */
const SDK = join(__dirname, 'node_modules/.cache/oncue/sdk.js')

/** Unused parts of the router: other tab bars, the site map, its error page. */
const UNUSED =
  /expo-router\/build\/(layouts\/Tabs|react-navigation\/bottom-tabs\/index|views\/(Sitemap|useSitemap|ErrorBoundary|Toast))\.js$/

const config = getDefaultConfig(__dirname)

config.resolver.resolveRequest = (context, name, platform) => {
  if (name === '@oncue/sdk' && !context.dev && existsSync(SDK)) return { type: 'sourceFile', filePath: SDK }
  // Metro looks for `x.web.ts` only if an import has no extension, and ours have one.
  const isOurs = name.startsWith('.') && context.originModulePath.startsWith(SOURCE)
  const found = context.resolveRequest(context, isOurs ? name.replace(/\.tsx?$/, '') : name, platform)
  const isUnused =
    platform === 'web' && !context.dev && found.type === 'sourceFile' && UNUSED.test(found.filePath)
  return isUnused ? { type: 'empty' } : found
}

module.exports = config
