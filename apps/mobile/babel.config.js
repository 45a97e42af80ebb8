module.exports = (api) => {
  api.cache(true)
  return { presets: ['babel-preset-expo'], plugins: [readBaseAtRunTime] }
}

/** Expo writes the base path into a build. One build of ours serves every path, which is known when the page has loaded. */
function readBaseAtRunTime({ types }) {
  return {
    visitor: {
      MemberExpression(path) {
        if (path.matchesPattern('process.env.EXPO_BASE_URL'))
          path.replaceWith(
            types.memberExpression(types.identifier('globalThis'), types.identifier('__oncueBase')),
          )
      },
    },
  }
}
