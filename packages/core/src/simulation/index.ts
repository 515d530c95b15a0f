export { type SimulatedStep, type Simulation, type SimulationInput, simulateRollout } from './simulate.ts';
export { merged, type SimulatedDurations } from './world.ts';
