import { type InstallSettings, labelsOf, shared } from './settings.ts';

const GROUP = 'admissionregistration.k8s.io/v1';

/** Returns a ValidatingAdmissionPolicy for machines and its binding. */
function policy(
  name: string,
  settings: InstallSettings,
  validations: readonly { readonly expression: string; readonly message: string }[],
): object[] {
  const { namespace } = settings;
  const metadata = { name: shared(`${settings.name}-${name}`, namespace), labels: labelsOf(settings) };
  return [
    {
      apiVersion: GROUP,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          // The selector matches only the namespace of the installation, because other installations own the machines
          // in other namespaces.
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          resourceRules: [
            {
              apiGroups: ['machine.sapcloud.io'],
              apiVersions: ['v1alpha1'],
              operations: ['UPDATE'],
              resources: ['machines'],
            },
          ],
        },
        validations,
      },
    },
    {
      apiVersion: GROUP,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: metadata.name, validationActions: ['Deny'] },
    },
  ];
}

/**
 * Returns policies for the fields of a machine that only the controllers may change. If a user changes a provider ID or
 * the finalizer, the VM can become an orphan. The policies are optional, because they refuse requests of the original
 * if its ServiceAccount has another name.
 */
export function policies(settings: InstallSettings): readonly object[] {
  const { namespace, accounts } = settings;
  const isController = `request.userInfo.username == 'system:serviceaccount:${namespace}:${accounts.controller}'`;
  const finalizer = "'machine.sapcloud.io/machine-controller-manager'";
  const had = `has(oldObject.metadata.finalizers) && ${finalizer} in oldObject.metadata.finalizers`;
  const has = `has(object.metadata.finalizers) && ${finalizer} in object.metadata.finalizers`;
  return policy('machines', settings, [
    {
      expression: `${isController} || !has(oldObject.spec.providerID) || oldObject.spec.providerID == '' || (has(object.spec.providerID) && object.spec.providerID == oldObject.spec.providerID)`,
      message:
        'spec.providerID: only the machine controller may change the field, because other changes can orphan the VM; delete the machine instead',
    },
    {
      expression: `${isController} || !(${had}) || (${has})`,
      message:
        'metadata.finalizers: only the machine controller may remove the finalizer of mcm. To skip the drain, set the label force-deletion=true',
    },
  ]);
}
