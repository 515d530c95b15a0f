import * as fc from 'fast-check';

// Every run uses the same histories, so that only a change of the code can break a test. For other histories, set
// `MCM_PROPERTY_SEED=$RANDOM`.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.MCM_PROPERTY_SEED ?? 20260101) });
