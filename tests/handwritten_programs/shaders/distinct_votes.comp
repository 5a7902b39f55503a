#version 460
// Each subgroup counts the votes for every candidate and finds its winner, by going through the candidates it meets.
// votes: one uint an invocation. tallies: for each invocation the votes its candidate has in its subgroup.
// winners: the candidate with the most votes, the lowest of equals. places: gl_SubgroupID.
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Votes { uint votes[]; };
layout(std430, binding = 1) writeonly buffer Tallies { uint tallies[]; };
layout(std430, binding = 2) writeonly buffer Winners { uint winners[]; };
layout(std430, binding = 3) writeonly buffer Places { uint places[]; };

void main() {
    uint me = gl_GlobalInvocationID.x, mine = votes[me], tally = 0u, most = 0u, winner = 0u;
    uvec4 rest = subgroupBallot(true);
    // Every invocation stays to the end, and learns of all candidates.
    while (rest != uvec4(0u)) {
        uint candidate = subgroupShuffle(mine, subgroupBallotFindLSB(rest));
        uvec4 voters = subgroupBallot(mine == candidate);
        uint count = subgroupBallotBitCount(voters);
        if (mine == candidate) tally = count;
        if (count > most || (count == most && candidate < winner)) {
            most = count;
            winner = candidate;
        }
        rest &= ~voters;
    }
    tallies[me] = tally;
    winners[me] = winner;
    places[me] = gl_SubgroupID;
}
