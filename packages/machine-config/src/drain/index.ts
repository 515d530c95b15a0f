export { createDrainController, type DrainControllerOptions } from './controller.ts';
export { createPodCache } from './pod-cache.ts';
export { type DrainRequest, DrainRequestError, drainRequestOf } from './request.ts';
