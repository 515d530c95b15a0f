import { formatTime } from '../../apimachinery/objects/object-text.ts';
import type { ReviewHandler } from '../../resources/registry.ts';
import { answered, showUser } from './answer.ts';

/** Handles a SelfSubjectReview: returns the user of the request. */
export const selfReview =
  (now: () => Date): ReviewHandler =>
  ({ object, call }) =>
    answered(
      { ...object, metadata: { creationTimestamp: formatTime(now()) } },
      { status: { userInfo: showUser(call.user) } },
    );
