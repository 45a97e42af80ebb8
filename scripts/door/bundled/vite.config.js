import { defineConfig } from 'vite'

// `--mode` names the format.
export default defineConfig(({ mode }) => {
  const extension = mode === 'cjs' ? 'cjs' : 'mjs'
  return {
    ssr: { noExternal: true, external: ['better-sqlite3', 'pg-native'] },
    build: {
      ssr: true,
      outDir: `out/vite-${mode}`,
      rollupOptions: {
        input: ['service.js', 'jobs.js'],
        output: {
          format: mode,
          entryFileNames: `[name].${extension}`,
          chunkFileNames: `[name].${extension}`,
        },
      },
    },
  }
})
