export { type DriverMetrics, registerDriverMetrics } from './driver.ts';
export { registerHookCallMetrics } from './hooks.ts';
export { registerInterruptionMetrics } from './interruptions.ts';
export { type MachineSources, registerMachineMetrics, type Stage, type StageObserver } from './machine.ts';
export { type ManagerSources, registerManagerMetrics } from './manager.ts';
