import { type InstallSettings, labelsOf, shared } from './settings.ts';

/**
 * Returns the webhook configurations for defaults and for validation. With the failure policy `Ignore`, a stopped
 * manager does not block the recovery of nodes.
 */
export function webhookConfigurations(settings: InstallSettings): readonly object[] {
  const { name: service, namespace } = settings;
  const webhook = (name: string, path: string, resources: readonly string[]) => ({
    name,
    clientConfig: { service: { name: service, namespace, path, port: 443 } },
    rules: [
      {
        apiGroups: ['machine.sapcloud.io'],
        apiVersions: ['v1alpha1'],
        operations: ['CREATE', 'UPDATE'],
        resources,
        scope: 'Namespaced',
      },
    ],
    // The selector matches only the namespace of the installation, because other installations own the objects in other
    // namespaces.
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    failurePolicy: 'Ignore',
    timeoutSeconds: 5,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  });
  const configuration = (kind: string, webhooks: readonly object[]) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: shared(service, namespace), labels: labelsOf(settings) },
    webhooks,
  });
  const owners = ['machinedeployments', 'machinesets'];
  return [
    configuration('MutatingWebhookConfiguration', [webhook('defaults.machine.sapcloud.io', '/default', owners)]),
    configuration('ValidatingWebhookConfiguration', [
      webhook('validation.machine.sapcloud.io', '/validate', [...owners, 'machines', 'machineclasses']),
    ]),
  ];
}
