export { createDrainController, type DrainControllerOptions, POD_NODE_INDEX } from './controller.ts';
export { type DrainRequest, DrainRequestError, drainRequestOf } from './request.ts';
