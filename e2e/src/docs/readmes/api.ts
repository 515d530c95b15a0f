import {
  crds,
  defaultMachineDeployment,
  formatFieldErrors,
  type MachineDeployment,
  parseDurationMs,
  parseStep,
  printStep,
  resolveIntOrPercent,
  validateMachineDeployment,
} from '@mcm/api';

const deployment: MachineDeployment = defaultMachineDeployment({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineDeployment',
  metadata: { name: 'workers', namespace: 'default', uid: '', resourceVersion: '', creationTimestamp: '' },
  spec: {
    replicas: -1,
    selector: { matchLabels: { pool: 'workers' } },
    template: {
      metadata: { labels: { pool: 'workers' } },
      spec: { class: { kind: 'MachineClass', name: 'small' } },
    },
  },
});
console.log(formatFieldErrors(validateMachineDeployment(deployment))); // spec.replicas: must be …

const surge = resolveIntOrPercent('25%', 5, 'up'); // 2
const timeoutMs = parseDurationMs(deployment.spec.template.spec.drainTimeout ?? '2h'); // 7,200,000
const step = parseStep(printStep('deleteVm', 'Drain successful.')); // converts to the text in status.lastOperation and back: 'deleteVm'
console.log(surge, timeoutMs, step, crds.length);
