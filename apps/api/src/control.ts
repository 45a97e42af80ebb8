// In the published package a bundle stands here, with as much of Prisma as it needs: see prisma/bundle-control.ts.
export { openControl } from '@oncue/db/control'
