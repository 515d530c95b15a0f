import type { ControllerConfig } from './controller-config.ts';

/** From the Infrastructure object; '' if it is not set. */
export function topologyOf(controllerConfig: ControllerConfig | undefined): string {
  const status = controllerConfig?.spec?.infra?.status;
  if (typeof status !== 'object' || status === null || !('controlPlaneTopology' in status)) return '';
  return typeof status.controlPlaneTopology === 'string' ? status.controlPlaneTopology : '';
}
