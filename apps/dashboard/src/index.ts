/** The page of the dashboard, and the types of the data that its server sends. */

export { DOCUMENT } from './document.ts';
export { PACKAGES, SCRIPT, STYLE } from './generated/page.ts';
export {
  type ClassRow,
  type ClusterRow,
  type ControllerRow,
  type ControllerState,
  type Delta,
  type DeploymentDetail,
  type DeploymentRow,
  type DrainRow,
  type DrainSample,
  type EventRow,
  type First,
  type Frame,
  LEVELS,
  type Level,
  type MachineDetail,
  type MachineLife,
  type MachineRow,
  type Mark,
  type PoolRow,
  ROLLOUT_STATES,
  type RolloutSample,
  type RolloutState,
  type Segment,
  STAGES,
  type Stage,
  type TableName,
  type Tables,
  type TrendSample,
} from './wire.ts';
