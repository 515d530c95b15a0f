import type { Machine, MachineDeployment } from '@mcm/api';
import { type ZoneInput, zoneSettingOf, zoneStates } from '@mcm/core';

/** One line with the machines of each zone. Empty if the deployment has no zones. */
export function zoneLines(
  deployment: MachineDeployment,
  machines: readonly Machine[],
  nodeOf: ZoneInput['nodeOf'],
): readonly string[] {
  const setting = zoneSettingOf(deployment);
  if (!setting) return [];
  const zones = zoneStates({ setting, machines, nodeOf }).map(({ zone, staying, evacuated, standby }) => {
    const state = evacuated ? ' (evacuated)' : standby ? ' (on standby, it gets no new machines)' : '';
    return `${zone.name} ${staying.length}${state}`;
  });
  return [`machines by zone: ${zones.join(', ')}`];
}
