export { createRuntimeConfigController } from './controller.ts';
export { runtimeFiles } from './files.ts';
export { planRuntimeConfig } from './kind.ts';
export { validateRuntimeConfig } from './validate.ts';
