export { applyJsonPatch } from './jsonPatch.ts';
export { type ApplyInput, checkTyped, serverSideApply } from './managed/apply.ts';
export { layOver, typedProblems } from './managed/lay-over.ts';
export { applyReplicas } from './managed/replicas.ts';
export { trackUpdate, type UpdateInput } from './managed/update.ts';
export { applyMergePatch } from './mergePatch.ts';
export { patchProblem } from './patchProblem.ts';
export { goPlain } from './strategic/directives.ts';
export { applyStrategicMergePatch } from './strategicMergePatch.ts';
