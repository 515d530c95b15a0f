import type { KeptEvidence, KeptVm } from '@mcm/core';
import { brief } from './brief.ts';

const CONSOLE_LINES = 15;

/** Returns lines about the evidence of a machine: the complete newest evidence, and the names of earlier evidence. */
export function evidenceLines(kept: readonly KeptEvidence[], namespace: string): string[] {
  const [newest, ...earlier] = kept;
  if (!newest) return [];
  const { failedAt, failure, conditions, cloud, console, missing, configMap } = newest;
  const lines = console?.trimEnd().split('\n') ?? [];
  const [firstCondition = '', ...moreConditions] = conditions.split('\n');
  const last = lines.slice(-CONSOLE_LINES).map((line) => `    ${line}`);
  return [
    `The machine failed at ${failedAt}: ${brief(failure)}`,
    ...(cloud ? [`  cloud       ${cloud}`] : []),
    `  conditions  ${firstCondition}`,
    ...moreConditions.map((line) => `              ${line}`),
    ...(lines.length > 0
      ? [`  ${lines.length > last.length ? 'last lines of the console log' : 'console log'}:`, ...last]
      : []),
    ...(missing ? missing.split('\n').map((line) => `  ${line}`) : []),
    `  the complete log: kubectl get configmap ${configMap} -n ${namespace} -o yaml`,
    ...(earlier.length > 0 ? [`  earlier failures: ${earlier.map((each) => each.configMap).join(', ')}`] : []),
  ];
}

/** Returns lines about VMs that mcm keeps for an investigation after the deletion of their machine. */
export const keptVmLines = (kept: readonly KeptVm[], namespace: string): string[] =>
  kept.map(
    ({ providerID, until, configMap }) =>
      `VM ${providerID} is kept until ${until.toISOString()}; to delete the VM now: kubectl delete configmap ${configMap} -n ${namespace}`,
  );
