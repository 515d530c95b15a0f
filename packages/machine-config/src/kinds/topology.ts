import type { ControllerConfig } from './controller-config.ts';

/** Returns the topology of the control plane from the Infrastructure object, or '' if no topology is set. */
export function topologyOf(controllerConfig: ControllerConfig | undefined): string {
  const status = controllerConfig?.spec?.infra?.status;
  if (typeof status !== 'object' || status === null || !('controlPlaneTopology' in status)) return '';
  return typeof status.controlPlaneTopology === 'string' ? status.controlPlaneTopology : '';
}
