export { planFinalizer } from './reconciler.ts';
