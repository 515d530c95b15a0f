import { expect, test } from 'vitest';
import { brief } from './brief.ts';

test.each([
  ['Creating machine on cloud provider', 'Creating machine on cloud provider'],
  ['Initiate node drain', 'Initiate node drain'],
  ['Evicting default/db. Initiate node drain', 'Evicting default/db'],
  [
    'Machine m is unhealthy - changing MachinePhase to Unknown. Node conditions: [{Type:Ready Status:Unknown}]',
    'Machine m is unhealthy - changing MachinePhase to Unknown',
  ],
  [
    'Cloud provider message - machine codes error: code = [ResourceExhausted] message = [QuotaExceeded: no cores [in a] left.]',
    'ResourceExhausted: QuotaExceeded: no cores [in a] left',
  ],
  [
    'VM deletion failed due to - machine codes error: code = [Unavailable] message = [InternalError: try again (request 4).]. Aborting operation. Initiate VM deletion',
    'VM deletion failed: Unavailable: InternalError: try again (request 4)',
  ],
  // The original cuts its longest event before the closing bracket.
  ['Cloud provider message - machine codes error: code = [Internal] message = [no im', 'Internal: no im'],
  [
    'VM deletion failed due to - machine codes error: code = [PermissionDenied] message = [PermissionDenied: no right]. Aborting operation. Initiate VM deletion',
    'VM deletion failed: PermissionDenied: no right',
  ],
  [
    'Drain failed due to - error while evicting pod "a/b": no budget. Will retry in next sync. Initiate node drain',
    'Drain failed: error while evicting pod "a/b": no budget',
  ],
  [
    'Error occurred with decoding machine error status while getting VM status, aborting without retry. machine code: machine codes error: code = [Internal] message = [no]. Set machine status to termination. Now, getting VM Status',
    'The search for the VM failed: Internal: no',
  ],
  ['Ready is Unknown (NodeStatusUnknown: Kubelet stopped.)', 'Ready is Unknown (NodeStatusUnknown: Kubelet stopped.)'],
])('%s', (description, reported) => {
  expect(brief(description)).toBe(reported);
});
