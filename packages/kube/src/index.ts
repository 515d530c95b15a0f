export * from './backoff.ts';
export { type ClientOptions, createClient, userAgent } from './client/create-client.ts';
export type { RequestSample } from './client/exchange.ts';
export type { RateLimit } from './client/rate-limit.ts';
export * from './client.ts';
export { VirtualClock, type VirtualClockOptions } from './clock/virtual-clock.ts';
export * from './clock.ts';
export * from './controller.ts';
export * from './errors.ts';
export { createRecorder, type RecorderOptions } from './events/create-recorder.ts';
export { createInformer, type InformerRuntime } from './informer/create-informer.ts';
export { deepFreeze } from './informer/freeze.ts';
export * from './informer.ts';
export { createLogger, type LoggerOptions } from './log/create-logger.ts';
export {
  createMemoryLogger,
  type LogLevel,
  type LogLine,
  type MemoryLogger,
  silentLogger,
} from './log/memory-logger.ts';
export * from './logger.ts';
export * from './objects.ts';
export { createOutageLog, errorText, type OutageLog } from './outage-log.ts';
export {
  type ControllerOptions,
  createController,
  type QueueGauges,
  type QueueMetrics,
} from './queue/create-controller.ts';
export type { QueueObserver } from './queue/work-queue.ts';
export * from './random.ts';
export * from './recorder.ts';
export * from './transport.ts';
export { handlerTransport } from './transports/handler.ts';
export * from './types/core.ts';
export * from './types/groups.ts';
