import { APP, type InstallSettings, LABELS, shared } from './settings.ts';

const GROUP = 'admissionregistration.k8s.io/v1';

/** A policy and its binding: what must hold for machines, and the sentence when it does not. */
function policy(
  name: string,
  namespace: string,
  validations: readonly { readonly expression: string; readonly message: string }[],
): object[] {
  const metadata = { name: shared(`${APP}-${name}`, namespace), labels: LABELS };
  return [
    {
      apiVersion: GROUP,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          // Machines of other namespaces are another installation's.
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
 * What only the controller may change of a machine. By hand, each of these loses a VM: another provider ID makes it an orphan, and so does
 * a finalizer taken off. Optional: while the original still runs under another name, it would be refused too.
 */
export function policies({ namespace }: InstallSettings): readonly object[] {
  const isController = `request.userInfo.username == 'system:serviceaccount:${namespace}:${APP}'`;
  const finalizer = "'machine.sapcloud.io/machine-controller-manager'";
  const had = `has(oldObject.metadata.finalizers) && ${finalizer} in oldObject.metadata.finalizers`;
  const has = `has(object.metadata.finalizers) && ${finalizer} in object.metadata.finalizers`;
  return policy('machines', namespace, [
    {
      expression: `${isController} || !has(oldObject.spec.providerID) || oldObject.spec.providerID == '' || (has(object.spec.providerID) && object.spec.providerID == oldObject.spec.providerID)`,
      message:
        'spec.providerID: only the machine controller may change it: its VM would be nobody’s; delete the machine instead',
    },
    {
      expression: `${isController} || !(${had}) || (${has})`,
      message:
        'metadata.finalizers: only the machine controller may take its finalizer off: the VM would stay; to skip the drain label the machine force-deletion=True',
    },
  ]);
}
