import type { ControllerConfig } from './controller-config.ts';

/** Returns the topology from the Infrastructure object, or '' if it is not set. */
export function topologyOf(controllerConfig: ControllerConfig | undefined): string {
  const status = controllerConfig?.spec?.infra?.status;
  if (typeof status !== 'object' || status === null || !('controlPlaneTopology' in status)) return '';
  return typeof status.controlPlaneTopology === 'string' ? status.controlPlaneTopology : '';
}
